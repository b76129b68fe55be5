//! Choices from bytes.

use std::ops::RangeInclusive;

use arbitrary::Unstructured;
use arbitrary::unstructured::Int;

/// Bytes that decide what a run does. After the last byte every choice is the first one, so that few bytes make a plain
/// run.
pub struct Plan<'a>(Unstructured<'a>);

impl<'a> Plan<'a> {
    pub fn new(data: &'a [u8]) -> Self {
        Self(Unstructured::new(data))
    }

    /// A number of `range`.
    pub fn number<T: Int>(&mut self, range: RangeInclusive<T>) -> T {
        let first = *range.start();
        self.0.int_in_range(range).unwrap_or(first)
    }

    /// One of `choices`.
    pub fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.number(0..=choices.len() - 1)].clone()
    }

    /// Whether something happens that happens once in `count` times.
    pub fn once_in(&mut self, count: u8) -> bool {
        self.number(1..=count) == count
    }

    /// As many bytes; zeros after the last one.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        // It fails for no number of bytes.
        let _ = self.0.fill_buffer(&mut bytes);
        bytes
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> Vec<u8> {
        self.bytes(self.0.len())
    }

    /// Any number, and often one at the end of what it can be.
    pub fn any_u32(&mut self) -> u32 {
        match self.number(0..=7u8) {
            0 => 0,
            1 => u32::MAX,
            2 => i32::MAX as u32,
            3 => self.number(0..=u32::MAX),
            _ => self.number(0..=70),
        }
    }

    /// Any number, and often one at the end of what it can be.
    pub fn any_u64(&mut self) -> u64 {
        match self.number(0..=7u8) {
            0 => 0,
            1 => u64::MAX,
            2 => u64::MAX - 1,
            3 => i64::MAX as u64,
            4 => self.number(0..=u64::MAX),
            _ => self.number(0..=5_000_000_000),
        }
    }

    /// Text without NUL, not always UTF-8: words of `words`, and other bytes.
    pub fn text(&mut self, words: &[&str]) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..self.number(0..=6u8) {
            if self.once_in(3) {
                let count = self.number(1..=4);
                text.extend(self.bytes(count));
            } else {
                text.extend_from_slice(self.one_of(words).as_bytes());
            }
        }
        text.retain(|byte| *byte != 0);
        text
    }

    /// Whether there are no more bytes.
    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }
}

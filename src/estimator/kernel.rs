use std::fmt;

/// How full search is done. It never changes what is found, only how fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// The fastest for the device.
    #[default]
    Auto,
    /// A work-group a block, a work-item a candidate, all from global memory (Uta 6.1).
    ReferenceNaive,
    /// The same with block and search area in local memory (Uta 6.1.1).
    Reference,
    /// One displacement of the whole picture a job (Uta 6.2.1, figure 6).
    CollaborativeNaive,
    /// 16-byte rows staged in local memory, all jobs in one launch (Uta 6.2.1-6.2.3, figure 7).
    Collaborative,
    /// Unaligned 16-byte reads, no local memory, for CPU devices (Uta 6.2.4, figure 8).
    CollaborativeUnaligned,
    /// All costs into memory, then the best of each block (Zhang III).
    TwoPass,
}

impl Kernel {
    /// Every kernel that runs on an OpenCL device.
    pub const OPENCL: [Kernel; 6] = [
        Kernel::ReferenceNaive,
        Kernel::Reference,
        Kernel::CollaborativeNaive,
        Kernel::Collaborative,
        Kernel::CollaborativeUnaligned,
        Kernel::TwoPass,
    ];

    /// The name by which properties and tables know it.
    pub fn name(self) -> &'static str {
        match self {
            Kernel::Auto => "auto",
            Kernel::ReferenceNaive => "reference-naive",
            Kernel::Reference => "reference",
            Kernel::CollaborativeNaive => "collaborative-naive",
            Kernel::Collaborative => "collaborative",
            Kernel::CollaborativeUnaligned => "collaborative-unaligned",
            Kernel::TwoPass => "two-pass",
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

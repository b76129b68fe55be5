//! The program `motion-vectors`, which its library is.

fn main() -> std::process::ExitCode {
    motion_vectors::main()
}

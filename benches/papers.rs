//! The tables of the four papers: [`motion_benches::papers`].

fn main() -> std::process::ExitCode {
    motion_benches::papers::main()
}

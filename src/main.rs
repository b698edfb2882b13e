//! The program `mnemoscope`: the command line starts here; with no subcommand the window opens.

fn main() -> std::process::ExitCode {
    mnemoscope::cli::main()
}

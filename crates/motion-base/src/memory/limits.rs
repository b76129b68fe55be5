//! How much memory this process may still take: what the machine has, and what limits of the process and of its control
//! groups (containers, services) leave of it.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The bytes a new allocation may take without driving the machine out of memory or over a limit, as far as that is known.
pub fn available_bytes() -> u64 {
    let text = |path| read_to_string(path).unwrap_or_default();
    let machine = sized_line(&text("/proc/meminfo"), "MemAvailable:");
    let process = left_of_address_space(&text("/proc/self/limits"), &text("/proc/self/status"));
    let groups = left_of_groups(&text("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"));
    [machine, process, groups].into_iter().flatten().min().unwrap_or(isize::MAX as u64)
}

/// The bytes of the line of `text` that begins with `name` and ends with a number of kibibytes.
fn sized_line(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes.saturating_mul(1024))
}

/// What the process has not used of its limit of addresses (`ulimit -v`), if there is one.
fn left_of_address_space(limits: &str, status: &str) -> Option<u64> {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = limit.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(sized_line(status, "VmSize:")?))
}

/// What is left of the least limit of the process's control groups, whose list is `groups`, below `root`.
fn left_of_groups(groups: &str, root: &Path) -> Option<u64> {
    let of_line = |line: &str| {
        let [hierarchy, controllers, path] = line.splitn(3, ':').collect::<Vec<_>>().try_into().ok()?;
        if (hierarchy, controllers) == ("0", "") {
            return left_of_group(root, path, ["memory.max", "memory.current"]);
        }
        let has_memory = controllers.split(',').any(|controller| controller == "memory");
        let names = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
        has_memory.then(|| left_of_group(&root.join("memory"), path, names)).flatten()
    };
    groups.lines().filter_map(of_line).min()
}

/// What is left of the limits of the group at `path` below `root` and of those that it is in, whose files are `names`.
fn left_of_group(root: &Path, path: &str, [limit, usage]: [&str; 2]) -> Option<u64> {
    let group = root.join(path.trim_start_matches('/'));
    let left = |group: &Path| {
        let number = |name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        // Files that were read and may be forgotten count as used. Without a limit there is no number.
        let text = read_to_string(group.join("memory.stat")).unwrap_or_default();
        let files = text.lines().find_map(|line| line.strip_prefix("inactive_file "));
        let files = files.and_then(|files| files.trim().parse().ok()).unwrap_or(0);
        Some(number(limit)?.saturating_sub(number(usage)?.saturating_sub(files)))
    };
    let groups: Vec<PathBuf> =
        group.ancestors().take_while(|at| at.starts_with(root)).map(Into::into).collect();
    groups.iter().filter_map(|group| left(group)).min()
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};

    use super::*;

    #[test]
    fn the_least_limit_counts() {
        let status = "Name:\tcat\nVmSize:\t    1000 kB\nVmRSS:\t 10 kB\n";
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max processes             100                  100                  processes \n\
            Max address space         4096000              unlimited            bytes     \n";
        assert_eq!(left_of_address_space(limits, status), Some(4_096_000 - 1_024_000));
        assert_eq!(left_of_address_space(&limits.replace("4096000", "unlimited"), status), None);
        assert_eq!(left_of_address_space(&limits.replace("4096000", "5"), status), Some(0));
        assert_eq!(sized_line("MemFree: 1 kB\nMemAvailable:   77 kB\n", "MemAvailable:"), Some(77 * 1024));
        assert_eq!(left_of_address_space("", ""), None);
        assert!(available_bytes() > 0);
    }

    #[test]
    fn groups_inherit_limits() {
        let root = std::env::temp_dir().join(format!("motion-search-groups-{}", std::process::id()));
        let file = |group: &str, name: &str, text: &str| {
            create_dir_all(root.join(group)).unwrap();
            write(root.join(group).join(name), text).unwrap();
        };
        file("a", "memory.max", "5000\n");
        file("a", "memory.current", "1500\n");
        file("a", "memory.stat", "anon 900\ninactive_file 600\nactive_file 5\n");
        file("a/b", "memory.max", "max\n");
        file("a/b", "memory.current", "1400\n");
        file("c", "memory.max", "800\n");
        file("c", "memory.current", "900\n");
        file("memory/old", "memory.limit_in_bytes", "3000");
        file("memory/old", "memory.usage_in_bytes", "2000");
        let left = |groups: &str| left_of_groups(groups, &root);
        assert_eq!(left("0::/a\n"), Some(4100));
        assert_eq!(left("0::/a/b\n"), Some(4100));
        assert_eq!(left("0::/c\n"), Some(0));
        assert_eq!(left("0::/\n"), None);
        assert_eq!(left("3:cpu,cpuacct:/x\n2:memory:/old\n0::/a\n"), Some(1000));
        assert_eq!(left("what is this\n"), None);
        std::fs::remove_dir_all(&root).unwrap();
    }
}

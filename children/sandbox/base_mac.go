package sandbox

// baseOfMac is Base on macOS. Below /System it has no place of users' files, which are also at /System/Volumes/Data.
var baseOfMac = []Need{
	{"Programs and shared libraries of the system", []string{"/usr", "/bin", "/sbin", "/System/Library", "/System/Cryptexes", "/System/iOSSupport", "/System/Volumes/Preboot/Cryptexes", "/Library/Apple", "/Library/Frameworks", "/private/var/db/dyld"}, Read | Execute},
	{"Programs and packages that are installed for all users", []string{"/opt/homebrew", "/opt/local", "/nix/store", "/Library/Developer/CommandLineTools", "/Applications/Xcode.app/Contents/Developer", "/Library/Java/JavaVirtualMachines"}, Read | Execute},
	{"Programs and packages that the user has installed", []string{"~/.local/bin", "~/.local/lib", "~/.local/pipx", "~/.local/share/pipx", "~/.local/share/uv/python", "~/.local/share/uv/tools"}, Read | Execute},
	{"Which developer's tools and languages are chosen", []string{"/private/var/select", "/private/var/db/xcode_select_link", "/Library/Preferences/com.apple.dt.Xcode.plist", "/Library/Preferences/.GlobalPreferences.plist"}, Read},
	{"Certificates of authorities", []string{"/private/etc/ssl/certs", "/private/etc/ssl/cert.pem", "/private/etc/ssl/openssl.cnf"}, Read},
	{"Time zone", []string{"/private/etc/localtime", "/private/var/db/timezone"}, Read},
	{"Names of users, hosts and services", []string{"/private/etc/passwd", "/private/etc/group", "/private/etc/hosts", "/private/etc/resolv.conf", "/private/var/run/resolv.conf", "/private/etc/services", "/private/etc/protocols"}, Read},
	{"Settings of shells, terminals, git and ssh", []string{"/private/etc/profile", "/private/etc/bashrc", "/private/etc/zshenv", "/private/etc/zprofile", "/private/etc/zshrc", "/private/etc/shells", "/private/etc/paths", "/private/etc/paths.d", "/private/etc/gitconfig", "/private/etc/ssh/ssh_config", "/private/etc/ssh/ssh_config.d"}, Read},
	{"A process's own descriptors", []string{"/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr"}, Read},
	{"Harmless devices", []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper"}, Read | Write | Device},
	{"The user's settings of git, and the hosts that ssh knows", userFiles, Read},
}

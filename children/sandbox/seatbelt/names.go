package seatbelt

// services are the services of the system that every program may speak to: its log, what changes, names of users, the
// settings that the asking program may read, folders for temporary files, and trust in certificates, which Go's TLS
// asks for. None of them hands out secrets, opens a program or a document, or speaks to other programs: neither the Keychain
// (com.apple.SecurityServer, com.apple.securityd), the pasteboard, Launch Services nor Apple events are here.
var services = []string{
	"com.apple.bsd.dirhelper",
	"com.apple.cfprefsd.agent", "com.apple.cfprefsd.daemon",
	"com.apple.diagnosticd", "com.apple.logd", "com.apple.system.logger",
	"com.apple.system.notification_center",
	"com.apple.system.opendirectoryd.libinfo", "com.apple.system.opendirectoryd.membership",
	"com.apple.trustd", "com.apple.trustd.agent",
}

// networkServices are the network services that a program with the network speaks to as well: how to reach hosts, and their names.
var networkServices = []string{
	"com.apple.SystemConfiguration.DNSConfiguration", "com.apple.SystemConfiguration.configd",
	"com.apple.dnssd.service", "com.apple.networkd",
}

// resolver is the socket by which names of hosts are looked up.
const resolver = "/private/var/run/mDNSResponder"

// sysctls report what the machine is. What shows arguments and variables of processes (kern.procargs2) is not here.
var (
	sysctls = []string{
		"kern.argmax", "kern.boottime", "kern.hostname", "kern.maxfilesperproc", "kern.maxproc", "kern.ngroups", "kern.osproductversion", "kern.osrelease",
		"kern.ostype", "kern.osvariant_status", "kern.osversion", "kern.secure_kernel", "kern.usrstack64", "kern.version",
		"security.mac.lockdown_mode_state", "sysctl.name2oid", "sysctl.proc_cputype", "sysctl.proc_native", "sysctl.proc_translated", "vm.loadavg",
	}
	sysctlPrefixes = []string{"hw.", "machdep.cpu."}
)

// Shared memory and semaphores by name: a process may read what the system shares, and make what Python's multiprocessing makes.
var (
	sharedBySystem         = []string{"apple.shm.notification_center"}
	sharedBySystemPrefixes = []string{"apple.cfprefs."}
	madeByPython           = []string{"/mp-", "/psm_"}
)

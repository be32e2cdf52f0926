package vfork

// A Call is a system call.
type Call struct {
	Number uintptr
	Args   [6]uintptr
	Wants  uintptr // any other result is a failure; 0: none is
}

// A Limit is what struct rlimit64 is.
type Limit struct{ Soft, Hard uint64 }

// A Script is what a new process does.
type Script struct {
	Clone Call   // clone3, with CLONE_VM and CLONE_VFORK
	Calls []Call // made in this order, by the new process. The last one executes a program
	Exit  Call   // ends the new process, if one of Calls fails

	failed int     // which of Calls has failed; negative: none
	errno  uintptr // and with what
}

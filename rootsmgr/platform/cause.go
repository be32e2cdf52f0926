package platform

// Cause says why a path cannot be resolved. Its strings are stable.
type Cause uint8

const (
	CauseNone        Cause = iota
	CauseNotAbsolute       // not absolute: the caller must say from where
	CauseNUL               // holds NUL
	CauseEncoding          // is not UTF-8
	CauseTooLong           // over PATH_MAX, or a component over NAME_MAX
	CauseLoop              // more than 40 symlinks
	CauseMagic             // a link that each process sees differently
	CauseDevice            // a Windows device path
	CauseStream            // a Windows alternate data stream
	CauseTrailing          // a Windows name that ends in a dot or a blank
	CauseReserved          // a Windows device name, or a character that no name may hold
	CauseLink              // a link whose target cannot be read or followed
	CausePermission        // a directory on the way may not be searched
	CauseIO                // any other error of the filesystem
)

func (c Cause) String() string {
	switch c {
	case CauseNotAbsolute:
		return "not absolute"
	case CauseNUL:
		return "holds NUL"
	case CauseEncoding:
		return "not UTF-8"
	case CauseTooLong:
		return "too long"
	case CauseLoop:
		return "too many symlinks"
	case CauseMagic:
		return "means something else in another process"
	case CauseDevice:
		return "device path"
	case CauseStream:
		return "alternate data stream"
	case CauseTrailing:
		return "name ends in a dot or a blank"
	case CauseReserved:
		return "reserved name"
	case CauseLink:
		return "link cannot be followed"
	case CausePermission:
		return "permission denied"
	case CauseIO:
		return "cannot be examined"
	}
	return "none"
}

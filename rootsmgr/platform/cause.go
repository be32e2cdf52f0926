package platform

// Cause reports why a path cannot be resolved. Its strings are stable.
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
	CauseHost              // on another machine that no root names
	CauseLink              // a link whose target cannot be read or followed
	CausePermission        // a directory on the way may not be searched
	CauseIO                // any other error of the filesystem
)

var causes = [...]string{
	CauseNone:        "none",
	CauseNotAbsolute: "not absolute",
	CauseNUL:         "holds NUL",
	CauseEncoding:    "not UTF-8",
	CauseTooLong:     "too long",
	CauseLoop:        "too many symlinks",
	CauseMagic:       "means something else in another process",
	CauseDevice:      "device path",
	CauseStream:      "alternate data stream",
	CauseTrailing:    "name ends in a dot or a blank",
	CauseReserved:    "reserved name",
	CauseHost:        "on a host that no root names",
	CauseLink:        "link cannot be followed",
	CausePermission:  "permission denied",
	CauseIO:          "cannot be examined",
}

func (c Cause) String() string {
	if int(c) >= len(causes) {
		return causes[CauseNone]
	}
	return causes[c]
}

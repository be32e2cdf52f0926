package access

import (
	"fmt"
	"slices"

	"mcphub/validate/chars"
)

// Role is what a tool does with a path. The zero value is a declaration that an argument is no path.
type Role uint8

const (
	None   Role = iota // it is no path
	Read               // it is opened to be read
	Write              // it is made or changed
	Delete             // it is taken away
)

var names = []string{"none", "read", "write", "delete"}

func (r Role) String() string {
	if int(r) >= len(names) {
		return names[None]
	}
	return names[r]
}

// Parse reads a role as hub.json spells it.
func Parse(s string) (Role, error) {
	i := slices.Index(names, s)
	if i < 0 {
		return None, fmt.Errorf("role %s is none of read, write, delete, none", chars.Quote(s))
	}
	return Role(i), nil
}

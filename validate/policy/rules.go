package policy

import (
	"strings"

	"mcphub/validate/access"
)

// Decision is what becomes of a call. The zero value denies.
type Decision uint8

const (
	Deny Decision = iota
	Escalate
	Allow
)

func (d Decision) String() string {
	if d > Allow {
		d = Deny
	}
	return [...]string{"deny", "escalate", "allow"}[d]
}

// RoleSet is a set of roles. The zero value is empty: it matches and opens nothing.
type RoleSet uint8

// AnyRole holds every role that a path can have.
const AnyRole = RoleSet(1<<access.Read | 1<<access.Write | 1<<access.Delete)

// Roles returns the set of these roles. None, which no path has, adds nothing.
func Roles(list ...access.Role) RoleSet {
	var s RoleSet
	for _, r := range list {
		s |= 1 << r
	}
	return s & AnyRole
}

// Has reports whether a role is in the set. None never is.
func (roles RoleSet) Has(r access.Role) bool { return roles&AnyRole&(1<<r) != 0 }

// List returns the roles of the set, mildest first.
func (roles RoleSet) List() []access.Role {
	var list []access.Role
	for _, r := range []access.Role{access.Read, access.Write, access.Delete} {
		if roles.Has(r) {
			list = append(list, r)
		}
	}
	return list
}

func (roles RoleSet) String() string {
	var words []string
	for _, r := range roles.List() {
		words = append(words, r.String())
	}
	return strings.Join(words, ", ")
}

// Policy is what is decided differently from the boundary. The zero value adds nothing to the boundary.
type Policy struct {
	Sandbox   string   // absolute, or ~/...: a directory inside every boundary; "" none
	Protected []string // absolute, or ~/...: what no rule opens, beside what is the hub's own
	Rules     []Rule   // in order: the first that matches a path decides it
}

// Rule is one rule of a policy. The zero value denies every call.
type Rule struct {
	Name    string
	Then    Decision
	Serve   bool      // Escalate with Paths.Within: serve the directory from the start
	Servers []string  // patterns of the children's names; empty: any
	Tools   []string  // patterns of the children's own tool names; empty: any
	People            // whom the rule is for
	Paths   *PathRule // nil: the rule is about the call itself, with whatever paths, none included
	At      string    // its place in hub.json (file:line), for people; may be ""
}

// PathRule is what a rule asks of a path. The zero value matches every path, and no call without one.
type PathRule struct {
	Roles   []access.Role // empty: any
	Within  string        // absolute, or ~/...: a directory; "" any
	Outside bool          // only paths outside the boundary
}

// Grant is what a human has allowed one child of one session. It opens what a rule escalates, for its roles, and
// nothing else: never what is denied, protected or outside a token's ceiling. The zero value opens nothing.
type Grant struct {
	Path  string // canonical: absolute, clean, no link on the way
	File  bool   // that file alone; otherwise the directory and what is below it
	Roles RoleSet
}

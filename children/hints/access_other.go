//go:build !linux

package hints

import "mcphub/children/sandbox"

// may is never asked: nothing is confined here.
func may(string, sandbox.Access) bool { return false }

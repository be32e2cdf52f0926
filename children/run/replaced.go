package run

import "time"

// lookEvery is how long what a look at all places has shown is good enough.
const lookEvery = time.Second

// PathsReplaced reports whether the kernel holds the run to what has left its place. It looks at
// the disk.
func (r *Run) PathsReplaced() bool {
	c := r.Launch.Sandbox
	if c == nil || c.Profile == nil {
		return false
	}
	if c.Profile.PathsReplaced() {
		r.lastPlacesCheck.Store(0) // and no one takes it for good enough
		return true
	}
	r.lastPlacesCheck.Store(time.Now().UnixNano())
	return false
}

// PathReplaced works like PathsReplaced as far as it touches a path.
func (r *Run) PathReplaced(path string) bool {
	c := r.Launch.Sandbox
	if c == nil || c.Profile == nil || len(c.Profile.Places) == 0 || !c.Profile.PathReplaced(path) {
		return false
	}
	r.lastPlacesCheck.Store(0)
	return true
}

// LookDue reports whether PathsReplaced is to be asked before the next call, whatever that is.
func (r *Run) LookDue() bool {
	c := r.Launch.Sandbox
	return c != nil && c.Profile != nil && len(c.Profile.Places) > 0 && time.Now().UnixNano()-r.lastPlacesCheck.Load() > int64(lookEvery)
}

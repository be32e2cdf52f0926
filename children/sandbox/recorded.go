package sandbox

import "slices"

// A Recorded holds what a trial has seen a server use beyond its profile, and a person has
// confirmed. The zero Recorded opens nothing.
type Recorded struct {
	Of    string         `json:"of"` // digest of the entry, its program and its package when it was recorded
	Paths []RecordedPath `json:"paths"`
}

// Equal reports whether two Recorded are the same.
func (recorded Recorded) Equal(o Recorded) bool {
	return recorded.Of == o.Of && slices.Equal(recorded.Paths, o.Paths)
}

// A RecordedPath is one path of a Recorded.
type RecordedPath struct {
	Path   string      `json:"path"` // absolute, without links when it was confirmed
	Use    RecordedUse `json:"use"`
	Beside bool        `json:"beside,omitempty"` // a file that is written may have siblings: names that begin with its own

	Temporary string `json:"temporary,omitempty"` // pattern of names in its folder, as path.Match has them, which are made and renamed onto it; "" for none
}

// A RecordedUse is the use that a server makes of a path. Another word than these opens nothing.
type RecordedUse string

const (
	Reads  RecordedUse = "reads"
	Writes RecordedUse = "writes"
	Keeps  RecordedUse = "keeps state" // a folder of the server's own, which is made if it is missing
)

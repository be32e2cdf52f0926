package attach

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// What the two sides say to each other, each a line. See the package's comment.
const (
	Hello  = "mcphub attach 1 " // and the secret
	Ready  = "ready"
	OK     = "ok"
	Go     = "go"
	HangUp = "hup"
	Refuse = "no "  // and why; nothing: hub.json says "off" by now
	End    = "end " // and the exit status
)

const (
	// LongestLine bounds a line, in bytes.
	LongestLine = 4 << 10
	// largest bounds Surroundings: the kernel takes 2 MiB of arguments and environment.
	largest = 4 << 20
)

// Surroundings are what an adapter brings beside its descriptors. The rest of its command line is the hub's.
type Surroundings struct {
	Roots      string // --roots
	RootsGiven bool
	LogLevel   string   // --log-level; "": the default
	Toolsets   []string // --toolset: names without a comma; nil: none
	Dir        string   // working folder
	Environ    []string
	Again      bool // another hub has served the session, which goes on
}

// Encode makes them what is sent: their length in four bytes, big-endian, then texts that
// each end in NUL, which none of them can hold.
func (s Surroundings) Encode() ([]byte, error) {
	for _, name := range s.Toolsets {
		if name == "" || strings.Contains(name, ",") { // it would arrive as none, or as several
			return nil, fmt.Errorf("--toolset: %q is no name of a toolset", name)
		}
	}
	texts := append([]string{s.Roots, encodeBit(s.RootsGiven), encodeBit(s.Again), s.LogLevel, strings.Join(s.Toolsets, ","), s.Dir}, s.Environ...)
	b := make([]byte, 4)
	for _, text := range texts {
		if strings.ContainsRune(text, 0) {
			return nil, errMalformed
		}
		b = append(append(b, text...), 0)
	}
	if len(b) > largest {
		return nil, errors.New("its environment is too large")
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b, nil
}

func encodeBit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

var errMalformed = errors.New("what the adapter has sent are no surroundings")

// Length reads the first four bytes of what Encode returns.
func Length(b []byte) (int, error) {
	if len(b) != 4 || binary.BigEndian.Uint32(b) > largest {
		return 0, errMalformed
	}
	return int(binary.BigEndian.Uint32(b)), nil
}

// Decode reads what follows the length.
func Decode(b []byte) (Surroundings, error) {
	const fixed = 6
	isBit := func(text string) bool { return text == "0" || text == "1" }
	texts := strings.Split(string(b), "\x00")
	if len(texts) < fixed+1 || texts[len(texts)-1] != "" || !isBit(texts[1]) || !isBit(texts[2]) {
		return Surroundings{}, errMalformed
	}
	s := Surroundings{Roots: texts[0], RootsGiven: texts[1] == "1", Again: texts[2] == "1", LogLevel: texts[3], Dir: texts[5], Environ: texts[fixed : len(texts)-1]}
	if texts[4] != "" {
		s.Toolsets = strings.Split(texts[4], ",")
	}
	return s, nil
}

package declaration

import "mcphub/internal/jsonrpc"

// A Level describes which log messages a client wants: one of RFC 5424's, from
// debug on; zero if the client has not said which.
type Level int

var levels = [...]string{"", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// String returns its name, "" for none.
func (l Level) String() string { return levels[l] }

// MoreVerbose returns the more verbose of two, if they are known.
func (l Level) MoreVerbose(o Level) Level {
	if l == 0 || o != 0 && o < l {
		return o
	}
	return l
}

// ReadLevel reads the name of a level, raw.
func ReadLevel(raw []byte) (Level, bool) {
	text, _ := jsonrpc.String(raw)
	for i := 1; i < len(levels); i++ {
		if levels[i] == text {
			return Level(i), true
		}
	}
	return 0, false
}

package approval

import "strings"

// Channels says who may answer a question.
type Channels struct {
	Client   bool // a person behind the client, by an elicitation
	Terminal bool // a person at a terminal of the hub's user: mcphub approve
	Console  bool // a person on the page of mcphub console
}

// names are those who may answer.
func (f Channels) names() (list []string) {
	if f.Client {
		list = append(list, AskedClient)
	}
	if f.Terminal {
		list = append(list, AskedTerminal)
	}
	if f.Console {
		list = append(list, AskedConsole)
	}
	return list
}

// Local are those of them who need no client: the users of a [Terminal].
func (f Channels) Local() Channels { return Channels{Terminal: f.Terminal, Console: f.Console} }

// String names them, with commas between.
func (f Channels) String() string { return strings.Join(f.names(), ", ") }

// where says where else than in the client those can answer whom an Asker names; "" for
// nowhere. A model may read it, so it holds no command.
func where(who string) string {
	var places []string
	for name := range strings.SplitSeq(who, ", ") {
		switch name {
		case AskedTerminal:
			places = append(places, "at a terminal of the hub's user")
		case AskedConsole:
			places = append(places, "on the page of the hub's console")
		}
	}
	return strings.Join(places, " or ")
}

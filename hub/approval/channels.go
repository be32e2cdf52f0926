package approval

import "strings"

// Channels says who may answer a question.
type Channels struct {
	Client   bool // a person behind the client, by an elicitation
	Terminal bool // a person at a terminal of the hub's user: mcphub approve
	Console  bool // a person on the page of mcphub console
}

// channelNames returns those who may answer.
func (f Channels) channelNames() (list []string) {
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

// Local returns the channels of people who need no client: the users of a [Terminal].
func (f Channels) Local() Channels { return Channels{Terminal: f.Terminal, Console: f.Console} }

// String names them, with commas between.
func (f Channels) String() string { return strings.Join(f.channelNames(), ", ") }

// channelPlaces has the channels that need no client: at which place a person answers, and by which command.
var channelPlaces = [...]struct{ name, place, command string }{
	{AskedTerminal, "at a terminal of the hub's user", "mcphub approve"},
	{AskedConsole, "on the page of the hub's console", "mcphub console"},
}

// answerPlaces returns where else than in the client those can answer whom an Asker names, and
// by which commands; "" for nowhere. A model may read the places, but no command.
func answerPlaces(who string) (places, commands string) {
	var at, by []string
	for _, e := range channelPlaces {
		if strings.Contains(who, e.name) {
			at, by = append(at, e.place), append(by, e.command)
		}
	}
	return strings.Join(at, " or "), strings.Join(by, " or ")
}

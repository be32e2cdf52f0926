package admin

import (
	"time"

	"mcphub/hub"
	"mcphub/hub/status"
)

// Format is the version of a Report's shape. Members may be added without
// changing it.
const Format = 1

// A Report is what GET /status answers and `mcphub status --json` lists.
type Report struct {
	Format  int          `json:"format"`
	PID     int          `json:"pid"`
	Version string       `json:"version"`
	Started time.Time    `json:"started"`
	Uptime  float64      `json:"uptimeSeconds"`
	Socket  string       `json:"socket"`
	Config  ConfigReport `json:"config"`
	HTTP    *HTTPReport  `json:"http,omitempty"`   // where it serves HTTP
	Shared  bool         `json:"shared,omitempty"` // it serves the clients that attach
	Alone   string       `json:"alone,omitempty"`  // why it serves one client alone, although hub.json says attach
	status.Hub
}

// ConfigReport describes how the configuration in force compares with hub.json.
type ConfigReport struct {
	Path    string     `json:"path"`              // "" if there is no file
	Loaded  time.Time  `json:"loaded"`            // when what holds now was read
	Error   string     `json:"error,omitempty"`   // why the file as it is now was not taken; what was read before holds
	ErrorAt *time.Time `json:"errorAt,omitempty"` // when that was

	Waiting      string   `json:"waiting,omitempty"`      // why a change is not read before a person asks for it
	Inside       string   `json:"inside,omitempty"`       // the directory in which servers of this hub may write hub.json
	AfterRestart []string `json:"afterRestart,omitempty"` // keys whose change takes effect after a restart
}

// HTTPReport is how clients reach a hub over HTTP.
type HTTPReport struct {
	URL  string `json:"url"`
	Auth string `json:"auth"` // an Auth constant

	Certificate string `json:"certificate,omitempty"` // why what is in the files of http.tls is not shown, but what was there before
}

// Values of HTTPReport.Auth: by what a client is known.
const (
	AuthMade       = "token"      // that the hub has made for its user
	AuthConfigured = "configured" // tokens that hub.json names
	AuthNone       = "none"
)

// A Plan is what a reload would do to one hub.
type Plan struct {
	Servers      []hub.PlannedServer `json:"servers"`                // in the order of hub.json, then the ones that go
	AfterRestart []string            `json:"afterRestart,omitempty"` // keys whose change takes effect after a restart of the hub
}

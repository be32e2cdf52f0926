package children

import (
	"github.com/rs/zerolog"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/process"
	"mcphub/children/remote"
	"mcphub/children/spec"
	"mcphub/internal/jsonrpc"
)

// A Launcher starts runs of children.
type Launcher interface {
	// Launch starts what l says and returns the ChildConnection to it, whose Run the caller
	// must call. h serves what the child sends; it may be called before Launch
	// returns, but not before Run.
	Launch(l launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error)
}

// ByURL launches a child that is reached by URL over HTTP, and any other one as a process that
// speaks on stdin and stdout.
type ByURL struct{}

// Launch starts the process. To a URL it sends nothing before the first Call.
func (ByURL) Launch(l launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.ChildConnection, error) {
	s = s.WithDefaults()
	if s.URL != "" {
		return remote.Open(remote.Server{URL: s.URL, Headers: s.Headers, Login: s.Login, Supply: s.Supply, TLS: s.TLS, Transport: s.Transport, FrameLimit: s.FrameLimit, IDLimit: s.IDLimit}, h, log)
	}
	return process.Start(l, process.PipeOptions{FrameLimit: s.FrameLimit, IDLimit: s.IDLimit, StopTimeout: s.StopTimeout}, h, log)
}

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
	// Launch starts what l says and returns the Link to it, whose Run the caller
	// must call. h serves what the child sends; it may be called before Launch
	// returns, but not before Run.
	Launch(l launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.Link, error)
}

// byURL launches what a Spec says.
type byURL struct{}

// Launch leaves it to the Launcher that the Spec is for.
func (byURL) Launch(l launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.Link, error) {
	if s.URL != "" {
		return Remote{}.Launch(l, s, h, log)
	}
	return Stdio{}.Launch(l, s, h, log)
}

// Stdio launches children as processes that speak on stdin and stdout.
type Stdio struct{}

// Launch starts the process.
func (Stdio) Launch(l launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.Link, error) {
	s = s.WithDefaults()
	return process.Start(l, process.Options{FrameLimit: s.FrameLimit, IDLimit: s.IDLimit, StopTimeout: s.StopTimeout}, h, log)
}

// Remote launches children that are reached by URL: Streamable HTTP, and
// HTTP with SSE (2024-11-05) where the Spec or the server says so.
type Remote struct{}

// Launch prepares the connection; nothing is sent before the first Call.
func (Remote) Launch(_ launch.Launch, s spec.Spec, h jsonrpc.Handler, log zerolog.Logger) (link.Link, error) {
	s = s.WithDefaults()
	return remote.Open(remote.Server{URL: s.URL, Headers: s.Headers, Login: s.Login, Transport: s.Transport, FrameLimit: s.FrameLimit, IDLimit: s.IDLimit}, h, log)
}

package children

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/children/headers"
	"mcphub/children/launch"
	"mcphub/children/program"
	"mcphub/children/remote"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/internal/reference"
)

// resolveSecrets returns the Launch and the Spec with the values of secrets instead of
// the references. They go to the Launcher and nowhere else.
func (child *childInstance) resolveSecrets(ctx context.Context, l launch.Launch, w wantedState) (launch.Launch, spec.Spec, error) {
	value := child.valueOf(ctx, w)
	s := child.spec
	if s.URL != "" {
		s, err := ResolveSecrets(s, value)
		if err == nil && child.common.Login != nil && s.LogsIn() {
			s.Login, err = child.common.Login(child.key, s)
		}
		s.Supply = child.headerSupply(s, w)
		return l, s, err
	}
	l, err := child.machine.WithSecrets(s.Program(), l, w.Roots, value)
	return l, s, err // the Launcher uses the limits of s
}

// valueOf looks up secrets for a run. Where servers write, one may have put a link
// instead of a file that holds a value; it leads to nothing that is not in scope.
func (child *childInstance) valueOf(ctx context.Context, w wantedState) func(reference.Ref) (string, error) {
	within := sandbox.Boundary{Areas: slices.Clip(w.boundary.Areas)}
	for _, path := range slices.Concat(program.RootPaths(w.Roots), child.spec.Sandbox.Write) {
		within.Areas = append(within.Areas, sandbox.Rule{Path: path, Access: sandbox.Read | sandbox.Write})
	}
	machine := child.baseMachine().WithBoundary(within)
	return func(r reference.Ref) (string, error) {
		if child.common.Secret == nil {
			return "", fmt.Errorf("%s: there is nothing here that keeps secrets", r)
		}
		return child.common.Secret(ctx, r, func(real string) error { return machine.CheckRead(r.Name, real) })
	}
}

// headerSupply runs the program that prints the headers of a run; the zero Supply if there is none. The roots of the run count as
// folders in which servers may write, also if nothing is on record.
func (child *childInstance) headerSupply(s spec.Spec, w wantedState) remote.Supply {
	if s.HeadersFrom.Command == "" {
		return remote.Supply{}
	}
	roots := program.RootPaths(w.Roots)
	program := HeaderProgramOf(s, child.common.Environ, func(paths ...string) (string, bool) {
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			for _, root := range roots {
				if sandbox.Contains(root, path) || err == nil && sandbox.Contains(root, real) {
					return root, true
				}
			}
		}
		if child.common.Written == nil {
			return "", false
		}
		return child.common.Written(paths...)
	})
	return remote.Supply{Headers: program.Run, TTL: s.HeadersFrom.TTL}
}

// HeaderProgramOf returns the program that prints the headers of a Spec. environ is the hub's; the environment of the Spec's session counts for more.
func HeaderProgramOf(s spec.Spec, environ []string, written func(paths ...string) (string, bool)) *headers.Command {
	if s.Environ != nil {
		environ = s.Environ
	}
	own := []string{"CLAUDE_CODE_MCP_SERVER_NAME=" + s.Name, "CLAUDE_CODE_MCP_SERVER_URL=" + s.URL} // as Claude Code names them
	return &headers.Command{Program: s.HeadersFrom.Command, Args: s.HeadersFrom.Args, Environ: append(slices.Clip(environ), own...), At: s.HeadersFrom.At, Written: written}
}

// ResolveSecrets returns a Spec of a server that is reached by URL with the values of its
// secrets in the address, the headers and the login.
func ResolveSecrets(s spec.Spec, value func(reference.Ref) (string, error)) (spec.Spec, error) {
	text, err := reference.Replace(s.URL, value)
	if err != nil {
		return s, fmt.Errorf("url: %w", err)
	}
	if reference.Has(s.URL) {
		written, _ := url.Parse(reference.Blank(s.URL, "secret"))
		u, err := url.Parse(text)
		if err != nil || written == nil || u.Scheme != written.Scheme || u.Host != written.Host || u.User.String() != written.User.String() {
			return s, errors.New("url: with its secret it is no address of the host that is written") // err would show it
		}
		s.URL = text
	}
	headers := make(map[string]string, len(s.Headers))
	for name, v := range s.Headers {
		if headers[name], err = reference.Replace(v, value); err != nil {
			return s, fmt.Errorf("headers.%s: %w", name, err)
		}
		if strings.ContainsAny(headers[name], "\r\n\x00") {
			return s, fmt.Errorf("headers.%s: a secret in it holds a line break, which no HTTP header can", name)
		}
	}
	s.Headers = headers
	if s.Auth.ClientSecret, err = reference.Replace(s.Auth.ClientSecret, value); err != nil {
		return s, fmt.Errorf("auth.clientSecret: %w", err)
	}
	return s, nil
}

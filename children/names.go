package children

import (
	"context"
	"errors"

	"mcphub/children/launch"
	"mcphub/children/link"
	"mcphub/children/modern"
	"mcphub/children/offers"
	"mcphub/children/process"
	"mcphub/children/remote"
	"mcphub/children/run"
	"mcphub/children/spec"
)

// A Spec says how to run one child.
type Spec = spec.Spec

// Key names one instance of a child.
type Key = spec.Key

// Era says in which family of protocol versions a child is spoken to.
type Era = spec.Era

// The eras.
const (
	EraAuto   = spec.EraAuto
	EraLegacy = spec.EraLegacy
	EraModern = spec.EraModern
)

// RootsMode says how a child is told which directories are open.
type RootsMode = spec.RootsMode

// The modes.
const (
	RootsArgs = spec.RootsArgs
	RootsList = spec.RootsList
	RootsNone = spec.RootsNone
)

// Share says who shares one process of a child.
type Share = spec.Share

// The ways to share.
const (
	ShareSession = spec.ShareSession
	ShareRoots   = spec.ShareRoots
	ShareAll     = spec.ShareAll
)

// StartMode says when a child starts.
type StartMode = spec.StartMode

// The times to start.
const (
	StartLazy   = spec.StartLazy
	StartEager  = spec.StartEager
	StartCalled = spec.StartCalled
)

// Defaults of a Spec's limits.
const (
	DefaultStartTimeout = spec.DefaultStartTimeout
	DefaultCallTimeout  = spec.DefaultCallTimeout
	DefaultStopTimeout  = spec.DefaultStopTimeout
)

// A Link is the raw connection to one run of one child.
type Link = link.Link

// Facts is what can be seen of one run of a child.
type Facts = link.Facts

// MethodTaskNews is the notification by which the extension for tasks tells of one.
const MethodTaskNews = link.MethodTaskNews

// OfProtocol reports whether a request or notification is one of the protocol, in
// any of its versions. All others belong to extensions.
func OfProtocol(method string) bool { return link.OfProtocol(method) }

// Transport is how a server with a URL is spoken to.
type Transport = remote.Transport

// Auth says how to log in at a server that asks for it.
type Auth = spec.Auth

// AsksForLogin reports whether a call failed, or a child did not start, because its
// server asks for a login that a person has to make.
func AsksForLogin(err error) bool {
	var refused *link.StatusError
	return errors.As(err, &refused) && refused.LogIn
}

// Login gives the tokens of requests to a server.
type Login = remote.Login

// TransportHTTP is Streamable HTTP, and SSE is not tried.
const TransportHTTP = remote.HTTP

// An Offer is what a child offers: immutable, raw, in the child's order.
type Offer = offers.Offer

// A Redefinition is a tool that a server has offered before and now defines
// otherwise.
type Redefinition = offers.Redefinition

// A Launch is everything that decides how one run of a child starts.
type Launch = launch.Launch

// An ExitError says how a child's process ended.
type ExitError = process.ExitError

// An UnavailableError says why a child cannot be called, or did not answer.
type UnavailableError = run.UnavailableError

// A TimeoutError ends a call for which nothing was heard of the child for too long.
type TimeoutError = run.TimeoutError

// A Call is a call under way that no goroutine waits for.
type Call = run.Call

// WithoutTimeout lets Call wait for as long as ctx lasts: for what a child
// answers when something else has ended.
func WithoutTimeout(ctx context.Context) context.Context { return run.WithoutTimeout(ctx) }

// WithProgressToken tells Call the raw progress token that the params hold, so
// that Call need not look for it. nil says that there is none.
func WithProgressToken(ctx context.Context, raw []byte) context.Context {
	return run.WithProgressToken(ctx, raw)
}

// Tell sends a notification to the child whose request ctx is of: the one that
// ChildRequest was given.
func Tell(ctx context.Context, method string, params ...[]byte) error {
	return run.Tell(ctx, method, params...)
}

// Told reports whether the transport of a child tells which call something that
// the child says belongs to: ctx is what an Observer was given. Then ctx has the
// values of that call's context, or there is no such call.
func Told(ctx context.Context) bool { return run.Told(ctx) }

// A Client is what an instance is shown of whom it serves. The zero Client is
// nobody in particular: one that cannot be asked anything but roots/list.
type Client = modern.Client

// WithClient says for whom calls with this context are made, where that is not
// the one that Options.Client names.
func WithClient(ctx context.Context, c Client) context.Context { return modern.WithClient(ctx, c) }

// Values of resultType that a child without a handshake may give.
const (
	ResultInput = modern.ResultInput // it asks for input
	ResultTask  = modern.ResultTask  // it names a task of the extension
)

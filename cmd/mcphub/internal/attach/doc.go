// Package attach lets many clients of one user share one hub: `mcphub serve` hands its standard streams to the
// hub that runs, and waits. This package is the adapter's side and what both sides say; package door is the
// hub's.
//
//	adapter                                   hub
//	mcphub attach 1 SECRET              ->
//	                                    <-    ready      it is a process that may attach
//	Surroundings, descriptors           ->       input, output, error; and three of what keeps the session's state
//	                                    <-    ok         it can be served in these surroundings
//	go                                  ->               from now on the streams are the hub's
//	hup                                 ->               at SIGHUP
//	                                    <-    end STATUS
//
// Instead of ready and ok the hub may answer "no" and why. Up to "go" the adapter can give up, and have its client served by a hub of
// its own; the hub has touched nothing then.
//
// A hub and its adapters meet at an [Endpoint]: a socket and a secret in the first usable folder of rundir. Its name
// is a digest of hub.json's path, of this program's file, of --set, and of the variables that a hub has of its
// environment ([HubEnviron]): sessions in which one of these differs have different hubs. What a session brings are
// its [Surroundings].
//
// The adapter is the guardian's process (cmd/mcphub/internal/guardian), before the packages of a hub are initialized. So this
// package imports little.
//
// If the hub ends without an "end" line, the adapter attaches to the next hub, with the same descriptors: package kept has
// how that hub goes on. After three such ends within a minute, at the fourth, the adapter ends, and at the twelfth within an hour. Of
// many adapters that find no hub, one at a time has it started (AwaitStartLock).
//
// Concurrency: an [Adapter] is used by one goroutine, but for HangUp and Disconnect, which may be called by any. Nothing
// is started here.
//
// It passes no byte on: where descriptors cannot be handed over there is no adapter. It does not read hub.json; [Wanted] only reports
// whether it is worth the while.
package attach

// Package call takes what a client asks of a child through its steps, from the lookup of
// what it names to the answer.
//
// # The life of a call
//
// A [Call] is a tool, a prompt, a resource, a completion, a subscription, or something of
// an extension. What differs is its target.
//
//  0. Look up (lookup_*.go): the name in the session's catalogue (package offering), an
//     immutable value which may hold what children offered in an earlier run. A name that
//     may belong to a child which has not listed its tools yet waits for that child. If the
//     child's list cannot be read, the name is taken for one of the child's. A
//     resource whose owner is not known is asked of the children in turn; each request is
//     judged first. No name is guessed: one that several children have is refused with
//     the names that tell them apart.
//  1. Scan: the raw argument bytes as strict JSON, the tool's own schema, which
//     strings are paths. If nothing is found no roots are needed.
//  2. Roots: the boundary of this session, no older than the last change that the
//     client announced before this call.
//  3. Lease: the right to call the instance, started if need be, with these roots
//     served and applied. A child that does not run is not started for a call that
//     would be denied: it is judged first by how it would be started. Should the child
//     define the target differently from the catalogue, again from step 1.
//  4. Judge, with the instance's own working directory. A denial becomes a text (package
//     texts) in an answer (package failure), and the call never reaches the child.
//  5. Approve: a call that a rule escalates is put to a person (package approval);
//     what they allow is granted and served to the child, and the call judged again
//     with the bytes it had.
//  6. Record: the decision, whatever it is, is with the operating system before
//     anything is sent; what cannot be recorded is denied where hub.json says so.
//  7. Send (send.go): the judged bytes go out. Only the name, the progress token, the trace and
//     the paths that the verdict spells otherwise are replaced. A child without a handshake may ask for more by its result; the
//     request is sent again with the answers (package rounds).
//  8. Settle (allowed_call.go): the child's answer comes back. Its names and URIs become the ones of the hub. A
//     refusal of the kernel is explained, a task is adopted, and a large result is cut.
//
// From step 7 on an allowedCall (allowed_call.go) owns what the request holds, whichever path it is on.
//
// What a reload overtakes before it is sent starts again with the lookup.
//
// Which goroutine a step runs on, and to whom it hands over, docs/architecture.md draws.
//
// Steps 1 to 4 are one attempt, and one goroutine makes it. Whatever ends it gives back
// the lease:
//
//	scanAndAwaitRoots -> checkEarly -> acquireAndJudge -> checkCurrent
//	        |                |                |                |
//	        +----------------+----------------+----------------+-> an error, or the verdict
//
// An error that says so has another attempt made. checkEarly takes the lease of a child that
// runs. It judges a call of one that does not run: a denial ends there, without acquireAndJudge.
//
// A call of a tool is tried on the fast path first, without waiting (fast.go): the same steps, which end if one would have
// to wait. What was let through goes on as a fastCall, an allowedCall for whose answer the goroutine of the read loop does not wait. It has one owner in each
// state:
//
//	recording   the goroutine that writes its line: the one that took the call, or the one that
//	            writes the lines of several
//	sending     the same
//	sent        the child's read loop, or the goroutine that ends the run of the child
//	conversing  a goroutine: the child has asked for something, or made a task
//	over        none
//
//	recording -> sending -> sent -> over
//	    |           |        | ^
//	    |           |        v |
//	    |           |     conversing -> over
//	    +-----------+-> over
//
// endCall alone leads to over. Its client may give it up at any time (Abandon): that ends
// what it waits for, and its owner ends it.
//
// # Who owns the state
//
// A [Sender] holds what the calls of one client share; its parts guard themselves. A Call belongs to
// the goroutine that runs it.
//
// # What it refuses to do
//
// It knows nothing about transports but that headers may repeat arguments, and none of the eras but that an answer may ask
// for more: a Call sees its client as a [client.Client]. It decides nothing itself, never decodes what passes through, never
// forwards a call that was not allowed and recorded, and never lets a request of a child reach a client it does not belong
// to.
//
// The tests make calls of a Sender whose client, instances and children they script (stage_test.go). Package hub tests what
// needs several parts; internal/archtest/steps_test.go holds where each step is taken.
package call

package failure

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"mcphub/hub/texts"
	"mcphub/hub/turns"
	"mcphub/internal/jsonrpc"
)

// This file is about requests for which a limit of hub.json has no room.

// limitedText returns the text of an error that is an *turns.ExceededError, and the milliseconds after which it is worth trying again.
func limitedText(err error) (text, again string) {
	e, _ := errors.AsType[*turns.ExceededError](err)
	key := "limits"
	if e.Pattern != "" {
		key = fmt.Sprintf("limits.tools[%q]", e.Pattern)
	}
	pause := max(e.Again.Round(time.Millisecond), time.Millisecond)
	again = strconv.FormatInt(pause.Milliseconds(), 10)
	if e.OfRate {
		return texts.RateReached(e.Server, key+".rate", e.Bound.Rate.String(), pause), again
	}
	return texts.QueueFull(e.Server, key, e.Bound.Calls, e.Bound.Queue, pause), again
}

// limitedTool answers the call of a tool.
func limitedTool(err error) jsonrpc.Answer {
	text, again := limitedText(err)
	a := ToolError(text)
	a.Result = append(a.Result[:len(a.Result)-1], `,"_meta":{"mcphub/retryAfterMs":`+again+`}}`...)
	return a
}

// limitedRequest answers another request.
func limitedRequest(err error) jsonrpc.Answer {
	text, again := limitedText(err)
	return jsonrpc.Answer{Error: (&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: text, Data: []byte(`{"retryAfterMs":` + again + `}`)}).Raw()}
}

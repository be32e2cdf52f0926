package jsonrpc

import "testing"

// An error that clients cannot read does not reach them as it is; every other does.
func TestErrorsThatAreNone(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"code":-32000,"message":"no"}`:                     "",
		`{ "message": "", "code": 7, "data": null, "x": 1 }`: "",
		`"no"`:                           `{"code":-32603,"message":"malformed error object: \"no\""}`,
		`null`:                           `{"code":-32603,"message":"malformed error object: null"}`,
		`{"code":"-32000","message":""}`: `{"code":-32603,"message":"malformed error object: {\"code\":\"-32000\",\"message\":\"\"}"}`,
		`{"code":1.5,"message":""}`:      `{"code":-32603,"message":"malformed error object: {\"code\":1.5,\"message\":\"\"}"}`,
		`{"message":"no"}`:               `{"code":-32603,"message":"malformed error object: {\"message\":\"no\"}"}`,
		`{"code":7,"data":[1.50]}`:       `{"code":7,"message":"","data":[1.50]}`,
		`{"code":7,"message":null}`:      `{"code":7,"message":""}`,
	} {
		if want == "" {
			want = raw
		}
		if got := (&Response{Error: []byte(raw)}).Answer(); string(got.Error) != want {
			t.Errorf("%s is passed on as %s, want %s", raw, got.Error, want)
		}
	}
}

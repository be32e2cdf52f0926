package validate

import (
	"testing"

	"mcphub/validate/policy"
)

// What a call pipes into its command is read as a here-document is.
func TestWhatACommandIsFed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checker()
	tool := w.tool(c, "x", `{"name":"run_command"}`)
	for _, args := range []string{
		`{"command":"sh","stdin":"cd / && cat etc/passwd"}`, `{"command":"bash","stdin":"cd ..; cat outside/secret.txt\n"}`,
		`{"command":"sh -s","stdin":"cat a b c {outside}/secret.txt d\n"}`, `{"stdin":"cd ..; cat outside/secret.txt","command":"ls; bash -s"}`,
		`{"command":"bash -s","input":"cd / && cat etc/passwd"}`, `{"command":"sh # x","stdin":"END\ncat a b c {outside}/secret.txt d\n"}`,
		`{"command":"xargs cat","stdin":"a b c {outside}/secret.txt d"}`,
	} {
		if _, v := w.call(c, tool, args); v.Decision != policy.Deny {
			t.Errorf("%s passes", args)
		}
	}
	for _, args := range []string{
		`{"command":"sh","stdin":"cd src && cat main.go"}`, `{"command":"git commit -F -","stdin":"fix the parser\n\nsee docs and src/main.go"}`,
		`{"command":"node -","stdin":"console.log(1 / 2)"}`, `{"command":"ls","stdin":""}`, `{"command":"wc -l","stdin":"a\nEND\nb/c\n"}`,
	} {
		if _, v := w.call(c, tool, args); v.Decision != policy.Allow {
			t.Errorf("%s is refused: %+v", args, v.Deciding)
		}
	}
}

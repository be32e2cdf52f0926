package configuration

import (
	"errors"
	"fmt"
	"testing"

	"mcphub/internal/jsonrpc"
)

// TestRetryOnReload: a request is made again for as long as reloads overtake it, within a bound, and for nothing else.
func TestRetryOnReload(t *testing.T) {
	t.Parallel()
	overtaken := fmt.Errorf("find: %w", ErrSuperseded)
	for name, test := range map[string]struct {
		reloads int // that come between
		then    error
		want    int // how often it is made
	}{
		"none":       {0, nil, 1},
		"two":        {2, nil, 3},
		"no end":     {1000, nil, maxReloads},
		"is refused": {1, errors.New("refused"), 2},
	} {
		made := 0
		a := RetryOnReload(func() (jsonrpc.Answer, error) {
			if made++; made <= test.reloads {
				return jsonrpc.ResultAnswer(fmt.Appendf(nil, "%d", made)), overtaken
			}
			return jsonrpc.ResultAnswer(fmt.Appendf(nil, "%d", made)), test.then
		})
		if made != test.want || string(a.Result) != fmt.Sprint(test.want) {
			t.Errorf("%s: it was made %d times, and %s was the answer; want %d", name, made, a.Result, test.want)
		}
	}
}

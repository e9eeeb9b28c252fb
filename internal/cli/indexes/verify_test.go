// SPDX-License-Identifier: Apache-2.0

package indexes

import (
	"errors"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/shell"
)

// TestEndEarly: a verb that has failed on its way writes the token with which it goes on;
// one that has no token writes none.
func TestEndEarly(t *testing.T) {
	failed := errors.New("no answer")
	for _, test := range []struct {
		json        bool
		token, want string
	}{
		{true, "AQ", "{\"next\":\"AQ\"}\n"},
		{false, "AQ", "there is more: --token AQ\n"},
		{true, "", ""},
	} {
		var errs strings.Builder
		c := &shell.Console{Streams: shell.Streams{Err: &errs}, JSON: test.json}
		if err := endEarly(c, test.token, failed); !errors.Is(err, failed) || !strings.HasPrefix(err.Error(), "ended early: ") {
			t.Errorf("%+v: %v", test, err)
		}
		if errs.String() != test.want {
			t.Errorf("%+v: %q", test, &errs)
		}
	}
}

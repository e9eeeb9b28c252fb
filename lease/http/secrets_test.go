// SPDX-License-Identifier: Apache-2.0

package http_test

import (
	"fmt"
	"strings"
	"testing"

	leasehttp "github.com/kazahana-db/kazahana/lease/http"
)

// TestPasswordInTheURL gives URLs with a password, which are refused: neither the
// error nor the options as they are printed tell it.
func TestPasswordInTheURL(t *testing.T) {
	for _, url := range []string{"https://u:hunter2@h", "https://u:hunter2%zz@h", "https://u:hunter2/@h", "http://u:hunter2@h:bad"} {
		options := leasehttp.ClientOptions{URL: url}
		err := options.Validate()
		if text := fmt.Sprintf("%v %+v %#v", err, options, options); err == nil || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", url, text)
		}
	}
}

// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScenario runs what go run . shows, with 3 and with 5 nodes.
func TestScenario(t *testing.T) {
	for _, nodes := range []int{3, 5} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), timeLimit)
			defer cancel()
			var out bytes.Buffer
			r, err := runScenario(ctx, nodes, &out)
			if t.Log(&out); err != nil {
				t.Fatal(err)
			}
			if r.second.ID == r.first.ID || r.second.Term <= r.first.Term {
				t.Errorf("%+v leads after %+v was killed", r.second, r.first)
			}
			if r.healed.Term < r.second.Term {
				t.Errorf("%+v leads after %+v", r.healed, r.second)
			}
			if lines := strings.Count(out.String(), "\n"); lines != 12 {
				t.Errorf("%d lines, want 12", lines)
			}
		})
	}
}

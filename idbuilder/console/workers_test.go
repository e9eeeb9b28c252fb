// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestWorkers checks the list of workers: it is the controller's, escaped; if the controller does not
// answer, or there is none, the page says so.
func TestWorkers(t *testing.T) {
	now := time.Now()
	list := []WorkerInfo{{
		ID: 77, Name: "w-<b>1", Address: "http://w1:8080", Version: "9.8.7", Started: now, Heartbeat: now.Add(-90 * time.Second), Load: 1234,
	}}
	for name, c := range map[string]struct {
		workers func(context.Context) ([]WorkerInfo, error)
		want    []string
	}{
		"none":     {nil, []string{"controller.endpoint"}},
		"empty":    {func(context.Context) ([]WorkerInfo, error) { return nil, nil }, []string{"no live worker"}},
		"listed":   {func(context.Context) ([]WorkerInfo, error) { return list, nil }, []string{">77<", "w-&lt;b&gt;1", "http://w1:8080", "9.8.7", " ago<"}},
		"silenced": {func(context.Context) ([]WorkerInfo, error) { return nil, errors.New("secret-detail") }, []string{"does not answer now"}},
	} {
		page := start(t, Options{Workers: c.workers}).login().get("workers")
		for _, text := range c.want {
			if !strings.Contains(page.text, text) {
				t.Errorf("%s: the page lacks %q:\n%s", name, text, page.text)
			}
		}
		if strings.Contains(page.text, "<b>1") || strings.Contains(page.text, "secret-detail") {
			t.Errorf("%s: the page is\n%s", name, page.text)
		}
	}
}

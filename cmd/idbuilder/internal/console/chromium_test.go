// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http/httptest"
	"testing"

	"github.com/kazahana-db/kazahana/internal/browsertest"
)

// browser is a page in a headless Chromium.
type browser struct{ *browsertest.Page }

// browse opens the console of a service.
func browse(t *testing.T, s service) *browser {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &browser{browsertest.Open(t, server.URL+"/admin/")}
}

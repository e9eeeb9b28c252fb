// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPathWithoutItsSlash: a router that gives the page its path without the slash is led to the one with it,
// next to which the files are.
func TestPathWithoutItsSlash(t *testing.T) {
	s := start(t, Options{})
	w := httptest.NewRecorder()
	http.StripPrefix("/debug/data", s.pages).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/data?x=1", nil))
	if at := w.Header().Get("Location"); w.Code != http.StatusMovedPermanently || at != "data/?x=1" {
		t.Errorf("%d to %q", w.Code, at)
	}
}

func TestOptionsSayWhatIsWrong(t *testing.T) {
	err := Options{Token: "short", Hosts: []string{"http://db.example.com/"}}.Validate()
	for _, want := range []string{"Token", "Hosts"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// TestOptionsHideTheToken: options in a log do not open the page.
func TestOptionsHideTheToken(t *testing.T) {
	o := Options{Token: token, Database: "orders"}
	if text := fmt.Sprintf("%v %+v %#v", o, &o, []any{o}); strings.Contains(text, token) || !strings.Contains(text, "orders") {
		t.Error(text)
	}
}

// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/browsertest"
)

// tenantsAnswer is what the page gets of tenants.
type tenantsAnswer struct {
	Tenants []struct {
		Name  string
		Bytes *int64
	}
	Unmeasured []string
}

// TestSizesThatTakeTooLong: tenants are listed although their sizes take longer than they may,
// and the answer says whose sizes are missing.
func TestSizesThatTakeTooLong(t *testing.T) {
	for _, late := range []bool{false, true} {
		o := Options{}
		if late {
			o.SizeWithin = 1 // which is over when the measurement begins
		}
		var answer tenantsAnswer
		if status := start(t, o).get("tenants", url.Values{"p": {"tenants"}}, &answer); status != http.StatusOK || len(answer.Tenants) != 3 {
			t.Fatalf("%d tenants, status %d", len(answer.Tenants), status)
		}
		var missing []string
		for _, tenant := range answer.Tenants {
			if tenant.Bytes == nil {
				missing = append(missing, tenant.Name)
			}
		}
		if late != (len(missing) == 3) || !slices.Equal(missing, answer.Unmeasured) && late || !late && len(answer.Unmeasured) > 0 {
			t.Errorf("too late %v: without a size are %q, named are %q", late, missing, answer.Unmeasured)
		}
	}
}

// TestBrowserShowsMissingSizes: the page names the tenants whose sizes are missing, and shows no
// size in their rows.
func TestBrowserShowsMissingSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	s := start(t, Options{SizeWithin: 1})
	page := browsertest.Open(t, s.URL+"/")
	page.OpenPage(strings.TrimPrefix(s.pages.Link(""), "/"))
	page.WantSoon("h1", "Overview")
	page.OpenPage("tenants?p=tenants")
	page.WantSoon(".notice", "The sizes of 3 tenants took too long to measure and are missing: tenant-1, tenant-2, tenant-3.")
	page.WantText("table", "not measured")
	page.WantQuiet()
}

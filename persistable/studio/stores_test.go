// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/kazahana-db/kazahana/internal/browsertest"
)

// TestBrowserSaysWhatIsNotShown: where a database has more stores than are looked at, overview,
// types and the palette say so, and lead to the directories.
func TestBrowserSaysWhatIsNotShown(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	s := start(t, Options{maxStores: 3})
	page := browsertest.Open(t, s.URL+"/")
	page.OpenPage(s.pages.Link(""))
	page.WantSoon("h1", "Overview")
	const said = "Only the first 3 stores were looked at. There are more"
	page.WantSoon("main", said)
	page.OpenPage("types")
	page.WantSoon("main", said)
	page.WantText(".notice a", "Directories")
	page.PressKeys("k", chromedp.KeyModifiers(2))
	page.WantSoon("#palette", "only the first 3 are listed here: see Directories")
	page.PressKeys("nothing has this name")
	page.WantSoon("#palette", "Other stores")
	page.WantQuiet()
}

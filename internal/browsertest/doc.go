// SPDX-License-Identifier: Apache-2.0

// Package browsertest drives a page in a headless Chromium, for tests of pages that the module
// serves. A test that uses it fails if the page writes to the console, throws, breaks its
// Content-Security-Policy, or asks another host for anything.
//
//	func TestBrowser(t *testing.T) {
//		server := httptest.NewServer(handler)
//		defer server.Close()
//		p := browsertest.Open(t, server.URL+"/")
//		p.OpenPage("records")
//		p.WantSoon("h1", "Records")
//		p.CheckPage("records") // labels, headings, widths; screenshots if BROWSER_SCREENSHOTS names a folder
//	}
package browsertest

// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/browsertest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/lease"
	"github.com/kazahana-db/kazahana/tuple"
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
// and the answer names those without a size.
func TestSizesThatTakeTooLong(t *testing.T) {
	for _, late := range []bool{false, true} {
		o := Options{}
		if late {
			o.sizeWithin = 1 // which is over when the measurement begins
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

// TestListsPassOverWhatIsUnreadable: a damaged tenant, a key among the directories that is none, and a
// damaged lease hide no others.
func TestListsPassOverWhatIsUnreadable(t *testing.T) {
	s := start(t, Options{})
	releaseLease(t, s.db.Engine())
	engine, layer := s.db.Engine(), s.db.Layer()
	open := func(path ...string) *directory.Directory {
		d, err := layer.Open(t.Context(), engine, path)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	damaged, set, leases := open("tenants", "tenant-2"), open("tenants"), open("kazahana", "leases")
	err := engine.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set(damaged.Annotation("kazahana").Sub("settings").Bytes(), []byte("damaged"))
		for _, parent := range [][]byte{{0xfe}, set.Reserve().Begin} {
			tx.Set(append(tuple.AppendInt(tuple.AppendBytes([]byte{0xfe}, parent), 0), "\x02a\x00torn"...), []byte{0x15, 0x01})
		}
		blocks := kv.PrefixRange(append(tuple.AppendString(leases.Reserve().Begin, "default"), 'b'))
		found, err := tx.GetRange(blocks.Selectors(), kv.RangeOptions{Limit: 1}).Slice(t.Context())
		if err == nil && len(found) == 1 {
			tx.Set(found[0].Key, []byte("damaged"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Tenants    []struct{ Name, Error string }
		Unreadable string
		Stores     []struct{ Type, Error string }
		Services   []struct{ Name string }
		Damage     string
		Entries    []struct{ Name, Error string }
	}
	for path, q := range map[string]url.Values{"tenants": {"p": {"tenants"}}, "types": nil, "leases": {"service": {"default"}}} {
		if status := s.get(path, q, &found); status != http.StatusOK {
			t.Errorf("%s answers %d", path, status)
		}
	}
	if len(found.Tenants) != 3 || found.Tenants[1].Error == "" || found.Tenants[2].Error != "" || found.Unreadable == "" {
		t.Errorf("the tenants are %+v, and %q", found.Tenants, found.Unreadable)
	}
	if n := len(found.Stores); n < 8 || found.Stores[n-1].Error == "" {
		t.Errorf("the stores are %+v", found.Stores)
	}
	if len(found.Services) != 1 || found.Damage == "" {
		t.Errorf("the services are %+v, and the damage is %q", found.Services, found.Damage)
	}
	for _, path := range []string{"", "tenants"} {
		if status := s.get("directories", url.Values{"p": strings.Fields(path)}, &found); status != http.StatusOK || len(found.Entries) < 2 || found.Unreadable == "" {
			t.Errorf("the directories in %q: %d, %+v, and %q", path, status, found.Entries, found.Unreadable)
		}
	}
	err = engine.Transact(t.Context(), func(tx kv.Transaction) error {
		tx.Set(tuple.AppendString(tuple.AppendInt(tuple.AppendBytes([]byte{0xfe}, set.Reserve().Begin), 0), "tenant-1"), nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	status := s.get("directories", url.Values{"p": {"tenants"}}, &found)
	if n := len(found.Entries); status != http.StatusOK || n != 3 || found.Entries[0].Error == "" || found.Entries[2].Error != "" {
		t.Errorf("with a damaged link the directories are %d, %+v", status, found.Entries)
	}
	for _, letter := range []byte("bs") { // a block, then the service's own record, of a newer version
		err := engine.Transact(t.Context(), func(tx kv.Transaction) error {
			rows := kv.PrefixRange(append(tuple.AppendString(leases.Reserve().Begin, "default"), letter))
			row, err := tx.GetRange(rows.Selectors(), kv.RangeOptions{Limit: 1}).Slice(t.Context())
			if err == nil && len(row) == 1 {
				tx.Set(row[0].Key, []byte("200000000 {}"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		found.Services, found.Damage = nil, ""
		if status := s.get("leases", url.Values{"service": {"default"}}, &found); status != http.StatusOK {
			t.Errorf("leases answers %d", status)
		}
		if len(found.Services) != 1 || !strings.Contains(found.Damage, lease.ErrNewer.Error()) {
			t.Errorf("the services are %+v, and the damage is %q", found.Services, found.Damage)
		}
	}
}

// TestBrowserShowsMissingSizes: the page names the tenants without a size, and shows no
// size in their rows.
func TestBrowserShowsMissingSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	s := start(t, Options{sizeWithin: 1})
	page := browsertest.Open(t, s.URL+"/")
	page.OpenPage(s.pages.Link(""))
	page.WantSoon("h1", "Overview")
	page.OpenPage("tenants?p=tenants")
	page.WantSoon(".notice", "The sizes of 3 tenants took too long to measure and are missing: tenant-1, tenant-2, tenant-3.")
	page.WantText("table", "not measured")
	page.WantQuiet()
}

// TestBrowserLateAnswers: an answer that comes when the user is elsewhere, or has clicked again, does
// not change what the page shows by then.
func TestBrowserLateAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	s := start(t, Options{Write: true})
	v := &visit{browsertest.Open(t, s.URL+"/"), s}
	v.OpenPage(s.pages.Link(""))
	v.WantSoon("h1", "Overview")
	v.openView("tenants?p=tenants", "Tenants")
	// A removal that lasts until the test ends it, and the work on a store with a longer name.
	browsertest.Evaluate[bool](v.Page, `(() => {
		const asked = fetch, answer = value => new Response(JSON.stringify(value));
		window.ended = false, window.held = [];
		window.fetch = async (url, options) => {
			if (url.startsWith('api/tenant/remove')) return answer({job: 7});
			if (url.startsWith('api/jobs')) return answer({jobs: [{id: 7, kind: 'remove', about: 'PreOrder in tenants/tenant-1/orders', begun: '2026-01-01T00:00:00Z', ended: ended ? '2026-01-01T00:00:01Z' : undefined}]});
			if (url.startsWith('api/directories?p=tenants&limit')) await new Promise(resolve => held.push(resolve));
			return asked(url, options);
		};
		window.lead = address => { history.pushState(null, '', address); dispatchEvent(new PopStateEvent('popstate')); return true; };
		return true;
	})()`)
	v.pressText("tr:has(a[href*='tenant-2'])", "Remove…")
	v.WantSoon("dialog", "tenants/tenant-2/accounts")
	v.PressKeys("tenant-2")
	v.PressKeys(kb.Enter)
	browsertest.Evaluate[bool](v.Page, "lead('./record?id="+firstOrder+"&"+ordersPath+"')")
	v.WantSoon("h1", firstOrder)
	v.press("#edit")
	v.WantSoon(".editor", "as JSON")
	v.replaceJSON(`"Amount": -300`, `"Amount": 4711`)
	browsertest.Evaluate[bool](v.Page, "ended = true")
	v.WantSoon(".toasts", "tenant-2 is removed.")
	time.Sleep(500 * time.Millisecond) // for the page to be drawn again, if it is
	if text := browsertest.Evaluate[string](v.Page, "document.getElementById('json')?.value ?? ''"); !strings.Contains(text, "4711") {
		t.Errorf("the end of a removal has emptied the editor: %q", text)
	}
	browsertest.Evaluate[bool](v.Page, "lead('./indexes?"+ordersPath+"')")
	v.WantSoon("main", "Order_Status_CreatedAt")
	if n := browsertest.Evaluate[int](v.Page, "document.querySelectorAll('[data-job]').length"); n != 0 {
		t.Errorf("the indexes of Order show %d works of PreOrder", n)
	}
	browsertest.Evaluate[bool](v.Page, "lead('./directories')")
	v.WantSoon("h1", "Directories")
	v.WantSoon("[role=tree]", "tenants")
	for range 3 {
		v.press(`[data-key='["tenants"]'] .twist`)
	}
	browsertest.Evaluate[bool](v.Page, "held.length === 2 && (held.forEach(go => go()), true)")
	v.WantSoon("[role=tree]", "tenant-1")
	time.Sleep(500 * time.Millisecond)
	if n := browsertest.Evaluate[int](v.Page, `document.querySelectorAll('[data-key=\'["tenants","tenant-1"]\']').length`); n != 1 {
		t.Errorf("three clicks show a directory %d times", n)
	}
	v.WantQuiet()
}

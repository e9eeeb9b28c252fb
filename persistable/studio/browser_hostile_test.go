// SPDX-License-Identifier: Apache-2.0

package studio

import (
	"strings"

	"github.com/chromedp/chromedp/kb"

	"github.com/kazahana-db/kazahana/internal/bazaar"
	"github.com/kazahana-db/kazahana/internal/browsertest"
)

// hostileName has markup, a character that turns text around, and a line break.
const hostileName = "<img src=x onerror=alert(1)>\u202egnp.exe\n</script>"

func (v *visit) seeHostileContents() {
	ctx := v.Context()
	o := &bazaar.Order{TenantID: hostileName, Number: "<script>document.title='owned'</script>", Country: "\u2066ab\u0000"}
	o.Address.Street = strings.Repeat("<b>1 MB</b> ", 95_000)
	store := bazaar.OrderStoreOf(v.site.db, hostileName)
	if err := store.CreateWithID(ctx, 1<<40, o); err != nil {
		v.Fatal(err)
	}
	v.openView("types?q=onerror", "Types")
	v.WantText("main", `<img src=x onerror=alert(1)>\u202egnp.exe\n</script>`)
	v.pressText("main", "Order")
	v.WantSoon("tbody tr", "<script>document.title='owned'</script>")
	v.WantText("tbody tr", `\u2066ab\u0000`)
	v.CheckPage("hostile-records")
	v.press("tbody a")
	v.WantSoon("h1", "1099511627776")
	v.WantSoon("main", "Show all")
	if n := browsertest.Evaluate[int](v.Page, "document.querySelector('main').innerText.length"); n > 20_000 {
		v.Errorf("a record of a megabyte shows %d characters", n)
	}
	v.CheckPage("hostile-record")
	v.press(".whole button")
	if !v.AwaitTrue("document.querySelector('main').textContent.length > 1000000") {
		v.Error("the whole value is not shown")
	}
	v.openView("directories?p=tenants", "Directories")
	v.WantSoon(".tree", "onerror")
	if browsertest.Evaluate[bool](v.Page, "document.querySelector('main img, main script, main b') !== null || document.title.includes('owned')") {
		v.Error("contents of the database became HTML")
	}
}

func (v *visit) seeTenants() {
	v.openView("tenants", "Tenants")
	v.wantAddress("p=tenants")
	v.WantText("main", "tenant-2")
	v.CheckPage("tenants")
	row := "tr:has(a[href*='tenant-2'])"
	v.pressText(row, "Lock")
	v.WantSoon("dialog", "All programs are refused writes")
	v.PressKeys("audit of <2026>")
	v.PressKeys(kb.Enter)
	v.WantSoon(row, "audit of <2026>")
	v.pressText(row, "Unlock")
	v.pressText("dialog", "Unlock")
	if !v.AwaitTrue(`!document.querySelector("` + row + `").innerText.includes('audit')`) {
		v.Error("the tenant stays locked")
	}
	v.pressText(row, "Remove…")
	v.WantSoon("dialog", "tenants/tenant-2/accounts")
	v.CheckPage("remove")
	v.PressKeys("tenant-2")
	v.PressKeys(kb.Enter)
	v.WantSoon(".toasts", "tenant-2 is removed.")
	if !v.AwaitTrue(`!document.querySelector("` + row + `")`) {
		v.Error("the tenant that was removed is still listed")
	}
}

func (v *visit) seeErrors() {
	v.OpenPage("records?p=nowhere&type=Order")
	v.WantSoon("[role=alert]", "There is no such thing")
	v.CheckPage("error")
	v.OpenPage("record?id=1&" + ordersPath)
	v.WantSoon("[role=alert]", "not found")
	v.pressText(".menu", "Metricsg m")
	v.WantSoon("h1", "Metrics")
}

// SPDX-License-Identifier: Apache-2.0

package console

import (
	"maps"
	"net/http"
	"slices"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// overviewPage is the data of the first page.
type overviewPage struct {
	Ready       api.Readiness
	About       []fact
	Components  []component
	Waits       int64
	StoreErrors int64
	Failed      []failure
	Busiest     []busyKey
	Charts      chartsOf
}

// component is a part that the worker needs.
type component struct {
	Name, Note string
	Ready      bool
}

// failure counts the failed operations of the store of one kind.
type failure struct {
	Operation string
	Count     int64
}

// chartsOf are the charts of a key, or of all keys for "".
type chartsOf struct {
	Key    string
	Charts []chart
}

func (c *Console) showOverview(v *visit) error {
	o := overviewPage{About: c.about(), Ready: c.worker.Ready(v.Context()), Busiest: c.samples.busiestKeys(8), Charts: chartsOf{"", c.samples.drawCharts("", "")}}
	for _, name := range slices.Sorted(maps.Keys(o.Ready.Components)) {
		o.Components = append(o.Components, describe(name, o.Ready))
	}
	load := c.worker.Load()
	o.Waits = int64(load.Waits)
	for _, operation := range slices.Sorted(maps.Keys(load.StoreErrors)) {
		n := int64(load.StoreErrors[operation])
		o.StoreErrors += n
		o.Failed = append(o.Failed, failure{operation, n})
	}
	return v.render(http.StatusOK, page{Name: "overview", Title: "Overview", Section: "overview", Data: o})
}

// about returns the lines about the worker itself.
func (c *Console) about() (list []fact) {
	for _, f := range []fact{
		{Name: "Address", Value: c.options.Address},
		{Name: "Store", Value: c.options.Store},
		{Name: "Version", Value: c.options.Version},
		{Name: "Running for", Value: duration(c.options.Now().Sub(c.begun))},
	} {
		if f.Value != "" {
			list = append(list, f)
		}
	}
	return list
}

// describe returns the state of a part of the worker.
func describe(name string, r api.Readiness) component {
	c := component{Name: name, Note: r.Notes[name], Ready: r.Components[name]}
	if known, ok := components[name]; ok {
		c.Name = known.Name
		if c.Note == "" && c.Ready {
			c.Note = known.Note
		}
	}
	return c
}

// components has a text for each component that is ready.
var components = map[string]component{
	"storage":    {Name: "Store", Note: "can be read and written"},
	"controller": {Name: "Controller", Note: "heartbeats are answered"},
}

// showCharts sends the charts to the script that refreshes them.
func (c *Console) showCharts(v *visit) error {
	key, t := v.FormValue("key"), idconfig.Type(v.FormValue("type"))
	return v.renderFragment("charts", chartsOf{key, c.samples.drawCharts(key, t)})
}

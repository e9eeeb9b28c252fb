// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/controller"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
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

// keysOnPage is how many keys a page lists.
const keysOnPage = 25

// keysPage is the data of a page of the list of keys.
type keysPage struct {
	Prefix string
	After  string // the last key of the page before, "" on the first one
	Keys   []worker.ConfigEntry
	Next   string // the key that the next page begins after; "" on the last one
}

func (c *Console) showKeys(v *visit) error {
	p := keysPage{Prefix: v.FormValue("prefix"), After: v.FormValue("after")}
	configs, more, err := c.worker.Configs(v.Context(), store.ListOptions{Prefix: p.Prefix, After: p.After, Limit: keysOnPage})
	if err != nil {
		return err
	}
	p.Keys = configs
	if more {
		p.Next = configs[len(configs)-1].Key
	}
	notice := ""
	if v.FormValue("done") == "deleted" {
		notice = "The key was deleted."
	}
	return v.render(http.StatusOK, page{Name: "keys", Title: "Keys", Section: "keys", Notice: notice, Data: p})
}

// keyPage is the data of the page of a key.
type keyPage struct {
	Config    *idconfig.Config
	Facts     []fact
	Preview   preview
	Charts    chartsOf
	Size      string   // that was asked for
	SizeFault string   // what is wrong with it
	Made      []string // IDs that were made by this request
	Token     *token.Token
}

// fact is a line about a key, with the field of the API that has it; "": none has.
type fact struct{ Name, Value, Field string }

var keyNotices = map[string]string{"created": "The key was created.", "saved": "The changes were saved. All workers use them."}

func (c *Console) showKey(v *visit) error {
	p, err := c.keyPage(v, v.FormValue("key"))
	if err != nil {
		return err
	}
	return v.renderKey(http.StatusOK, p, keyNotices[v.FormValue("done")])
}

func (c *Console) keyPage(v *visit, key string) (p keyPage, err error) {
	config, state, err := c.worker.Config(v.Context(), key)
	if err != nil {
		return p, err
	}
	p = keyPage{Config: config, Facts: facts(config, state), Charts: chartsOf{key, c.samples.drawCharts(key, config.Type)}, Size: "1"}
	p.Preview, err = c.previewOf(v.Context(), config)
	return p, err
}

// facts returns the lines about a key's state.
func facts(c *idconfig.Config, state any) (list []fact) {
	add := func(name, value string, field ...string) {
		list = append(list, fact{name, value, strings.Join(field, ", ")})
	}
	switch s := state.(type) {
	case *idconfig.IncrementState:
		if s.Exact && s.Current == c.Increment.Base {
			add("Last ID given", "none yet", "current")
		} else if s.Exact {
			add("Last ID given", strconv.FormatInt(s.Current, 10), "current")
		} else {
			add("Last ID given", "at most "+strconv.FormatInt(s.Reserved, 10)+"; several workers give IDs", "current")
		}
		add("Reserved by workers up to", strconv.FormatInt(s.Reserved, 10), "reserved")
	case *idconfig.FormattedState:
		for _, n := range s.Counters {
			of := ""
			if n.Period != "" {
				of = " in " + n.Period
			}
			add("Numbers reserved by workers"+of, "up to "+grouped(n.Reserved))
			add("Numbers that remain"+of, grouped(n.Max-n.Reserved))
		}
	case *idconfig.SnowflakeState:
		leased := grouped(int64(s.ActiveWorkers)) + " of " + grouped(int64(1)<<c.Snowflake.WorkerIDSize)
		if s.Incomplete {
			leased += "; others cannot be read, the log says why"
		}
		add("Worker ids leased", leased, "active_workers")
	}
	return append(list, parameters(c)...)
}

// parameters returns the configuration, in words.
func parameters(c *idconfig.Config) (list []fact) {
	add := func(field, name, value string) { list = append(list, fact{name, value, field}) }
	switch c.Type {
	case idconfig.TypeIncrement:
		i := c.Increment
		add("base", "Base", strconv.FormatInt(i.Base, 10))
		if i.RandDelta {
			add("delta, rand_delta", "Distance", "random, 1 to "+strconv.FormatInt(i.Delta, 10))
		} else {
			add("delta", "Distance", strconv.FormatInt(i.Delta, 10))
		}
		add("max_request_delta", "Largest distance of a request", strconv.FormatInt(i.MaxRequestDelta, 10))
		add("max", "Last possible ID", strconv.FormatInt(i.Bound(), 10))
	case idconfig.TypeSnowflake:
		s := c.Snowflake
		add("skip_size, ts_size, worker_id_size, seq_size", "Bits", strconv.Itoa(s.SkipSize)+" unused, "+strconv.Itoa(s.TSSize)+" time, "+strconv.Itoa(s.WorkerIDSize)+" worker, "+strconv.Itoa(s.SeqSize)+" sequence")
	case idconfig.TypeFormatted:
		if c.Formatted.Pattern != "" {
			add("pattern", "Pattern", c.Formatted.Pattern)
		}
		var parts []string
		for _, p := range c.Formatted.Parts {
			kind, _ := partKindOf(p.Type)
			parts = append(parts, strings.ToLower(kind.Label))
		}
		add("parts", "Parts", strings.Join(parts, ", "))
	}
	if c.KeyTokenOnly {
		add("key_token_enable", "Tokens", "its own and the admin's; not the token for all keys")
	}
	return list
}

// maxMade is how many IDs the console makes at once.
const maxMade = 100

// generateIDs makes IDs and shows them. They count as given.
func (c *Console) generateIDs(v *visit) error {
	key := v.PostFormValue("key")
	config, _, err := c.worker.Config(v.Context(), key)
	if err != nil {
		return err
	}
	size, err := strconv.Atoi(v.PostFormValue("size"))
	var made []string
	fault := ""
	if err != nil || size < 1 || size > maxMade {
		fault = "It is " + strconv.Quote(v.PostFormValue("size")) + "; allowed are 1 to " + strconv.Itoa(maxMade) + "."
	} else if made, err = c.makeIDs(v, config, size); err != nil {
		return err
	}
	p, err := c.keyPage(v, key)
	if err != nil {
		return err
	}
	p.Size, p.SizeFault, p.Made = v.PostFormValue("size"), fault, made
	if fault != "" {
		return v.renderKey(http.StatusBadRequest, p, "")
	}
	v.logAction("made IDs", key)
	return v.renderKey(http.StatusOK, p, "")
}

func (c *Console) makeIDs(v *visit, config *idconfig.Config, size int) (made []string, err error) {
	switch config.Type {
	case idconfig.TypeIncrement:
		ids, err := c.worker.Increment(v.Context(), nil, worker.IncrementRequest{Key: config.Key, Size: size})
		for _, id := range ids {
			made = append(made, strconv.FormatInt(id, 10))
		}
		return made, err
	case idconfig.TypeFormatted:
		return c.worker.Formatted(v.Context(), nil, config.Key, size)
	}
	return nil, api.Errorf(api.Invalid, "clients make snowflake IDs themselves; the service leases worker ids to them")
}

// showToken shows the token of a key, in this answer only.
func (c *Console) showToken(v *visit) error {
	key := v.PostFormValue("key")
	if key == token.GlobalKey {
		return v.showGlobalToken(c.worker.Tokens().Key(v.Context(), v.admin, key))
	}
	p, err := c.keyPage(v, key)
	if err != nil {
		return err
	}
	t, err := c.worker.Tokens().Key(v.Context(), v.admin, key)
	if err != nil {
		return err
	}
	p.Token = &t
	v.logAction("showed the token", key)
	return v.renderKey(http.StatusOK, p, "")
}

// isNotFound reports whether a key does not exist.
func isNotFound(err error) bool {
	e := (*api.Error)(nil)
	return errors.As(err, &e) && e.Code == api.NotFound
}

// workersPage lists the live workers.
type workersPage struct {
	Controlled bool // there is a controller
	Workers    []controller.Worker
	Now        time.Time
	Fault      string
}

// Age returns how long ago the last heartbeat was.
func (p workersPage) Age(heartbeat time.Time) string {
	return duration(max(0, p.Now.Sub(heartbeat)))
}

func (c *Console) showWorkers(v *visit) error {
	p := workersPage{Controlled: c.options.Workers != nil, Now: c.options.Now()}
	if p.Controlled {
		list, err := c.options.Workers(v.Context())
		if err != nil {
			c.options.Logger.Warn("console: the controller does not answer", "error", err)
			p.Fault = "The controller does not answer now. Workers go on for as long as their leases last."
		}
		p.Workers = list.Items
	}
	return v.render(http.StatusOK, page{Name: "workers", Title: "Workers", Section: "workers", Data: p})
}

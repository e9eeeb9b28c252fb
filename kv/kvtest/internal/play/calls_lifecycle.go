// SPDX-License-Identifier: Apache-2.0

package play

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

func setOption(_ context.Context, _ *Player, s *Slot, st *scenario.Step) scenario.Answer {
	option, ok := scenario.OptionNames[st.Option]
	if !ok {
		return scenario.ErrorAnswer(fmt.Errorf("the replayer does not know the option %q", st.Option))
	}
	return scenario.ErrorAnswer(s.Tx.SetOption(option, st.Arg))
}

func commit(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	s.stamp = s.Tx.GetVersionstamp()
	err := s.Tx.Commit(ctx)
	if err == nil {
		r.learn(ctx, st, s)
	}
	return scenario.ErrorAnswer(err)
}

func commitStart(_ context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	s.stamp = s.Tx.GetVersionstamp()
	s.commit = s.Tx.CommitAsync()
	return scenario.Answer{}
}

func commitAwait(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	_, err := s.commit.Get(ctx)
	if err == nil {
		r.learn(ctx, st, s)
	}
	return scenario.ErrorAnswer(err)
}

func onError(ctx context.Context, _ *Player, s *Slot, st *scenario.Step) scenario.Answer {
	return scenario.ErrorAnswer(s.Tx.OnError(ctx, &kv.Error{Code: kv.Code(st.Code)}))
}

// getCommittedVersion answers 1 for any positive version, as recordings do.
func getCommittedVersion(_ context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	version, err := s.Tx.GetCommittedVersion()
	return scenario.Answer{Kind: "version", N: min(version, 1)}.OrError(err)
}

func GetApproximateSize(ctx context.Context, _ *Player, s *Slot, _ *scenario.Step) scenario.Answer {
	size, err := s.Tx.GetApproximateSize().Get(ctx)
	return scenario.Answer{Kind: "size", N: size}.OrError(err)
}

func getVersionstamp(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	future := s.Tx.GetVersionstamp()
	r.Asked[st.ID] = future
	if want, err := scenario.ParseAnswer(st.Want, r.Known); err == nil && want.Kind == "error" {
		Pause(ctx, future.Done(), r.errorWait(st))
	}
	return LookAtStamp(ctx, future)
}

func LookAtStamp(ctx context.Context, future kv.Future[[]byte]) scenario.Answer {
	if !future.Ready() {
		return scenario.Answer{Kind: "ready"}
	}
	_, err := future.Get(ctx)
	return scenario.Answer{Kind: "ready", Flag: true}.OrError(err)
}

func AwaitVersionstamp(ctx context.Context, r *Player, _ *Slot, st *scenario.Step) scenario.Answer {
	future, ok := r.Asked[st.ID]
	if !ok {
		return scenario.ErrorAnswer(fmt.Errorf("versionstamp %d was not asked for", st.ID))
	}
	Pause(ctx, future.Done(), r.patience(st, scenario.Answer{Kind: "ready"}))
	if !future.Ready() {
		return scenario.Answer{Kind: "ready"}
	}
	stamp, err := future.Get(ctx)
	return scenario.Answer{Kind: "versionstamp", Bytes: stamp}.OrError(err)
}

func watch(ctx context.Context, r *Player, s *Slot, st *scenario.Step) scenario.Answer {
	key, err := st.Key.Bytes(r.Known)
	if err != nil {
		return scenario.ErrorAnswer(err)
	}
	r.watches[st.ID] = s.Tx.Watch(key)
	return r.LookAtWatch(ctx, st, r.errorWait(st))
}

func watchState(ctx context.Context, r *Player, _ *Slot, st *scenario.Step) scenario.Answer {
	return r.LookAtWatch(ctx, st, r.patience(st, scenario.Answer{Kind: "fired"}))
}

func cancelWatch(_ context.Context, r *Player, _ *Slot, st *scenario.Step) scenario.Answer {
	future, ok := r.watches[st.ID]
	if !ok {
		return scenario.ErrorAnswer(fmt.Errorf("there is no watch %d", st.ID))
	}
	future.Cancel()
	return scenario.Answer{}
}

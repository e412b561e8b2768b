//go:build !without_zap

package main

import (
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// zapOff is a logger whose level is switched off.
func zapOff(s shape) subject { return subject{name: "zap", loop: zapLoop(s)} }

func zapLoop(s shape) func(int) {
	l := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.InfoLevel))
	switch s.attrs {
	case 0:
		return func(n int) {
			for range n {
				l.Debug("train.step")
			}
		}
	case 2:
		return func(n int) {
			for i := range n {
				l.Debug("train.step", zap.Int("dl.iteration", i), zap.String("phase", "train"))
			}
		}
	}
	return func(n int) {
		for i := range n {
			l.Debug("train.step", zap.Int("dl.iteration", i), zap.String("phase", "train"),
				zap.Int("epoch", 3), zap.Float64("loss", 0.5), zap.Bool("warm", true),
				zap.String("device", "cuda:0"), zap.Int("microbatch", i), zap.Int("tokens", 4096))
		}
	}
}

package observer

import (
	"os"
	"runtime"

	"github.com/prometheus/procfs"
	"go.opentelemetry.io/otel/metric"
)

// process observes CPU time, memory, threads and descriptors, as far as the platform tells them.
func (i *instruments) process(cfg Config) {
	missing := i.cpuTime()
	root := cfg.ProcRoot
	if root == "" {
		root = procfs.DefaultMountPoint
	}
	threads := number("/sched/threads/total:threads")
	if self, err := ownProcess(root); err == nil {
		pageSize := int64(os.Getpagesize())
		i.upDown(MemoryName, "By", "Resident memory of the process.", func() (int64, bool) {
			m, err := self.Statm()
			return int64(m.Resident) * pageSize, err == nil
		})
		i.upDown(DescriptorsName, "{file_descriptor}", "Open file descriptors of the process.", func() (int64, bool) {
			n, err := self.FileDescriptorsLen()
			return int64(n), err == nil
		})
		threads = func() (int64, bool) {
			s, err := self.Stat()
			return int64(s.NumThreads), err == nil
		}
	} else {
		missing = append(missing, MemoryName, DescriptorsName)
	}
	i.upDown(ThreadsName, "{thread}", "Threads of the process.", threads)
	if len(missing) > 0 {
		cfg.Logger.Info("lens: the observer leaves out what this platform does not tell", "os", runtime.GOOS, "instruments", missing)
	}
}

// ownProcess finds this process, or says that there is no procfs to find it in.
func ownProcess(root string) (procfs.Proc, error) {
	fs, err := procfs.NewFS(root)
	if err != nil {
		return procfs.Proc{}, err
	}
	p, err := fs.Self()
	if err != nil {
		return procfs.Proc{}, err
	}
	_, err = p.Statm()
	return p, err
}

// cpuTime observes the processor time, or returns the name of what it cannot observe.
func (i *instruments) cpuTime() (missing []string) {
	if _, _, err := cpuTimes(); err != nil {
		return []string{CPUTimeName}
	}
	c, err := i.meter.Float64ObservableCounter(CPUTimeName, metric.WithUnit("s"),
		metric.WithDescription("Processor time of the process."))
	i.check(CPUTimeName, err)
	user := metric.WithAttributes(CPUModeKey.String("user"))
	system := metric.WithAttributes(CPUModeKey.String("system"))
	i.observables = append(i.observables, c)
	i.observe = append(i.observe, func(o metric.Observer) {
		if u, s, err := cpuTimes(); err == nil {
			o.ObserveFloat64(c, u.Seconds(), user)
			o.ObserveFloat64(c, s.Seconds(), system)
		}
	})
	return nil
}

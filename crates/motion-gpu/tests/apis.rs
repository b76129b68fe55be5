//! Objects of one API that are given to the other. Without CUDA there is one API, and nothing to test.

#![cfg(feature = "cuda")]

/// The name by which `scripts/test` leaves out what needs a GPU of NVIDIA.
mod on_cuda {
    use std::time::Duration;

    use motion_base::Launcher;
    use motion_gpu::context::Context;
    use motion_gpu::launcher::{Arg, Buffer, Error, KernelObject, QueueKind};
    use motion_gpu::{devices, program};

    #[test]
    #[ignore = "needs a GPU of NVIDIA"]
    fn objects_of_the_other_api_are_refused() {
        let mut compared = 0;
        for device in devices() {
            let Ok(cuda) = device.new_context(Launcher::Cuda) else { continue };
            let opencl = device.new_context(Launcher::OpenCl).unwrap();
            let kernel = |context: &Context| {
                let source = "__kernel void one(__global int *at) { *at = 1; }";
                program::build(context, &device, "one", source, "").unwrap().kernel(c"one").unwrap()
            };
            for (own, other) in [(&cuda, &opencl), (&opencl, &cuda)] {
                let [queue, others_queue] =
                    [own, other].map(|context| context.queue(QueueKind::Ordered).unwrap());
                let [buffer, others_buffer] = [own, other].map(|context| context.buffer(4).unwrap());
                let others_event = others_queue.marker().unwrap();
                assert_eq!(queue.write(&others_buffer, &[0; 4]), Err(Error::UNSUPPORTED));
                assert_eq!(queue.barrier(&[&others_event]).err(), Some(Error::UNSUPPORTED));
                let launch = |mut kernel: KernelObject, buffer: &Buffer| {
                    // SAFETY: the one item writes the one number of the buffer.
                    unsafe { queue.launch(&mut kernel, &[Arg::Buffer(buffer)], [1], [1]) }
                };
                assert_eq!(launch(kernel(other), &buffer), Err(Error::UNSUPPORTED));
                assert_eq!(launch(kernel(own), &others_buffer), Err(Error::UNSUPPORTED));
                assert_eq!(launch(kernel(own), &buffer), Ok(()));
                own.watch().wait_for_queue(&queue, Duration::from_secs(10)).unwrap();
            }
            compared += 1;
        }
        assert!(compared > 0, "no device has CUDA");
    }
}

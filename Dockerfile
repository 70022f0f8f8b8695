# transferscope in a container. Studies and results lie in the folder that is mounted at /work, and are yours by `--user`;
# data sets and networks that are downloaded are kept in the volume at /cache:
#
#     docker build -t transferscope --build-arg TORCH_INDEX_URL=INDEX_OF_CPU_BUILDS .
#     docker run --rm --user "$(id -u):$(id -g)" -v "$PWD":/work -v transferscope:/cache transferscope \
#         compare glyphs digits --labels 50
#
# TORCH_INDEX_URL is the index of PyTorch's CPU builds (its installation page names it). Without it the image takes the
# build of the usual index, which on Linux brings CUDA with it: run that one with `docker run --gpus all`. The CUDA image has
# not been tested.
FROM python:3.12-slim

ARG TORCH_INDEX_URL=""
ARG EXTRAS="hf,postgresql"

WORKDIR /src
COPY constraints.txt ./
RUN pip install --no-cache-dir ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"} "$(grep '^torch==' constraints.txt)"
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir -c constraints.txt ".[${EXTRAS}]" && rm -rf /src

# Whoever `--user` names can write both folders and has a home.
ENV TRANSFERSCOPE_CACHE=/cache \
    HOME=/cache \
    MPLCONFIGDIR=/tmp/matplotlib \
    PYTHONUNBUFFERED=1
RUN useradd --home-dir /cache user && mkdir --mode=1777 /cache /work
USER user
WORKDIR /work
VOLUME ["/cache"]
ENTRYPOINT ["transferscope"]
CMD ["--help"]
